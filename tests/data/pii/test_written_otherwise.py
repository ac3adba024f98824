"""Values written in other ways than the common one: each found whole, with the value that is meant, or left alone."""

import re

import pytest

from data.pii import Pseudonymizer, find_spans
from data.pii.detect import find_values
from data.pii.surrogate import normalise

KEY = b"test key for written forms"

FOUND = {
    "full_width_telephone": ("전화 ⟦TEL:０１０－１２３４－５６７８⟧로 주세요", "010-1234-5678"),
    "mixed_width_telephone": ("전화 ⟦TEL:010－１２３４-5678⟧로 주세요", "010-1234-5678"),
    "full_width_registration": ("주민번호 ⟦RRN:９００１０１－１２３４５６７⟧임", "900101-1234567"),
    "full_width_ip": ("서버 ⟦IP:１９２．０．２．１５⟧이다", "192.0.2.15"),
    "full_width_plate": ("차량 ⟦VEHICLE_PLATE:１２가 ３４５６⟧을", "12가 3456"),
    "full_width_at_sign": ("문의는 ⟦EMAIL:hong＠example.com⟧으로", "hong@example.com"),
    "full_width_mail": ("⟦EMAIL:ｈｏｎｇ＠ｅｘａｍｐｌｅ．ｃｏｍ⟧", "hong@example.com"),
    "rare_dashes": ("전화 ⟦TEL:010ー1234─5678⟧", "010-1234-5678"),
    "other_digits": ("전화 ⟦TEL:𝟎𝟏𝟎-𝟏𝟐𝟑𝟒-𝟓𝟔𝟕𝟖⟧", "010-1234-5678"),
    "keycaps": ("전화 ⟦TEL:0️⃣1️⃣0️⃣-1️⃣2️⃣3️⃣4️⃣-5678⟧", "010-1234-5678"),
    "circles": ("전화 ⟦TEL:⓪①⓪-①②③④-⑤⑥⑦⑧⟧", "010-1234-5678"),
    "exchange_in_brackets": ("(☎ ⟦TEL:041(334)7112⟧)으로", "041(334)7112"),
    "short_exchange_in_brackets": ("☎ ⟦TEL:02(123)4567⟧", "02(123)4567"),
    "plate_before_a_comma": ("차량 ⟦VEHICLE_PLATE:12가3456⟧,34나5678", "12가3456"),
    "plate_after_a_comma": ("차량 12가3456,⟦VEHICLE_PLATE:34나5678⟧", "34나5678"),
    "old_plate_with_blanks": ("번호판은 ⟦VEHICLE_PLATE:서울 종로 가 1234⟧였다", "서울 종로 가 1234"),
    "address_without_a_lot": (
        "집은 ⟦ADDRESS:서울특별시 강남구 역삼동 래미안아파트 101동 1203호⟧입니다",
        "서울특별시 강남구 역삼동 래미안아파트 101동 1203호",
    ),
    "zero_width_between_digits": ("전화 ⟦TEL:0\u200b1\u200c0-\u200d12\ufeff34-5\u206067\u00ad8⟧ 끝", "010-1234-5678"),
    "cut_apart_by_blanks": ("전화 ⟦TEL:0 1 0 - 1 2 3 4 - 5 6 7 8⟧ 끝", "010-1234-5678"),
    "cut_apart_within_a_group": ("주민 ⟦RRN:900101-12 34567⟧ 끝", "900101-1234567"),
    "tag_within_a_number": ("전화 ⟦TEL:010-12<br>34-5678⟧ 끝", "010-1234-5678"),
    "tag_between_groups": ("전화 ⟦TEL:010-1234-<br/>5678⟧ 끝", "010-1234-5678"),
    "line_end_between_groups": ("전화 ⟦TEL:010-1234-\n5678⟧ 끝", "010-1234-5678"),
    "line_end_within_a_group": ("전화 ⟦TEL:010-12\n34-5678⟧ 끝", "010-1234-5678"),
    "line_end_in_a_registration": ("주민번호 ⟦RRN:900101-\r\n1234567⟧ 끝", "900101-1234567"),
    "line_end_in_a_landline": ("전화 ⟦TEL:02-123-\n4567⟧ 끝", "02-123-4567"),
    "written_out": ("번호는 ⟦TEL:공일공 일이삼사 오육칠팔⟧이에요", "010-1234-5678"),
    "written_out_joined": ("번호는 ⟦TEL:공일공일이삼사오륙칠팔⟧ 입니다", "010-1234-5678"),
    "written_out_spoken": ("⟦TEL:공일공에 일이삼사에 오육칠팔⟧", "010-1234-5678"),
    "written_out_in_part": ("⟦TEL:010-일이삼사-오육칠팔⟧로", "010-1234-5678"),
    "written_out_landline": ("⟦TEL:공이 일이삼 사오육칠⟧로", "02-123-4567"),
    "written_out_service": ("⟦TEL:일오팔팔 일이삼사⟧로", "1588-1234"),
    "letters_for_digits": ("⟦TEL:O1O-l234-5678⟧로", "010-1234-5678"),
    "account_with_pauses": (
        "국민은행 계좌 ⟦BANK_ACCOUNT:육사팔이공일 다시 공사 다시 일구삼칠오이⟧ 맞죠",
        "648201-04-193752",
    ),
    "account_spoken_with_particles": (
        "계좌는 신한이고요 ⟦BANK_ACCOUNT:일일공에 사팔이에 구삼칠일오육⟧ 입니다",
        "110-482-937156",
    ),
    "second_number_like_a_year": ("문의 010-2948-1037/⟦TEL:1038⟧ (부부)", "010-2948-1038"),
    "one_odd_joint": ("휴대폰: ⟦TEL:0107731/2946⟧", "0107731/2946"),
    "card_with_digits_apart": (
        "결제 카드번호 ⟦CARD:5 3 8 7  2 0 6 1  1 7 0 0  4 8 2 9⟧ 로 승인",
        "5387206117004829",
    ),
    "business_number_spoken": ("사업자번호 ⟦BRN:삼일구 다시 칠팔 다시 공공오이사⟧ 라고", "319-78-00524"),
    "odd_joints": ("⟦TEL:010/1234/5678⟧로", "010-1234-5678"),
    "words_as_joints": ("⟦TEL:010에 1234에 5678⟧로", "010-1234-5678"),
    "user_in_a_url": ("⟦URL:http://hong:1234@blog.kr/⟧ 봐", "http://hong:1234@blog.kr/"),
    "korean_mail": ("메일은 ⟦EMAIL:한글@example.com⟧입니다", "한글@example.com"),
    "mail_in_brackets": ("⟦EMAIL:hong[at]example[dot]com⟧로", "hong@example.com"),
    "mail_in_parentheses": ("⟦EMAIL:hong(at)example.co.kr⟧로", "hong@example.co.kr"),
    "mail_in_words": ("⟦EMAIL:hong 골뱅이 naver 닷 com⟧ 으로", "hong@naver.com"),
    "mail_in_korean": ("⟦EMAIL:hong골뱅이네이버닷컴⟧으로", "hong@naver.com"),
    "mail_with_blanks": ("⟦EMAIL:hong @ example.com⟧으로", "hong@example.com"),
    "korean_url": ("⟦URL:https://한글도메인.한국/경로⟧ 에서", "https://한글도메인.한국/경로"),
    "loud_url": ("⟦URL:NAVER.COM⟧에서", "NAVER.COM"),
    "handle_of_words_of_code": ("⟦MENTION:@user.name⟧! 이거 봐", "@user.name"),
    "korean_handle_with_a_request": ("⟦MENTION:@홍길동⟧ 확인 부탁드려요", "@홍길동"),
    "korean_handle_with_a_title": ("⟦MENTION:@행복한하루⟧님 감사해요", "@행복한하루"),
    "registration_with_a_slash": ("생년 ⟦RRN:900101/1234567⟧ 임", "900101/1234567"),
    "registration_with_its_century": ("⟦RRN:19900101-1234567⟧ 임", "19900101-1234567"),
    "bare_registration_without_check_digit": ("⟦RRN:9001011234567⟧ 임", "9001011234567"),
    "bare_registration_since_2020": ("아이는 ⟦RRN:2105053234567⟧이다", "2105053234567"),
    "mail_at_a_host_in_korean": ("문의 ⟦EMAIL:hong@네이버.com⟧으로", "hong@naver.com"),
    "mail_at_a_korean_host": ("문의 ⟦EMAIL:hong@한글도메인.com⟧으로", "hong@한글도메인.com"),
    "mail_with_at_as_a_word": ("메일은 ⟦EMAIL:hong at naver.com⟧입니다", "hong@naver.com"),
    "mail_with_capital_words": ("⟦EMAIL:hong_AT_naver_DOT_com⟧ 으로", "hong@naver.com"),
    "mail_with_letters_apart": ("메일 ⟦EMAIL:h o n g @ n a v e r . c o m⟧ 입니다", "hong@naver.com"),
    "mail_with_a_percent_sign": ("mailto:⟦EMAIL:hong%40naver.com⟧ 으로", "hong@naver.com"),
    "flat_without_the_word": (
        "⟦ADDRESS:서울 강남구 테헤란로 123길 45 래미안 101동 1203호⟧로",
        "서울 강남구 테헤란로 123길 45 래미안 101동 1203호",
    ),
    "flat_with_a_dash": ("⟦ADDRESS:서울 강남구 역삼동 래미안 101-1203⟧ 거주", "서울 강남구 역삼동 래미안 101-1203"),
    "flat_beside_its_label": ("주소: ⟦ADDRESS:래미안아파트 101동 1203호⟧", "래미안아파트 101동 1203호"),
    "flat_of_one_building_beside_its_label": ("집은 ⟦ADDRESS:푸른빌라 203호⟧입니다", "푸른빌라 203호"),
    "two_numbers_in_short": ("전화 010-1234-5678/⟦TEL:5679⟧ 로", "010-1234-5679"),
    "a_range_of_numbers": ("전화 02-123-4567~⟦TEL:4569⟧ 로", "02-123-4569"),
    "capital_host": ("⟦URL:Naver.com⟧에서", "Naver.com"),
    "capital_host_of_two_parts": ("⟦URL:Google.co.kr⟧에서", "Google.co.kr"),
    "korean_host": ("사이트는 ⟦URL:한글.kr⟧ 입니다", "한글.kr"),
    "service_number_with_a_blank": ("대표번호 ⟦TEL:1588 1234⟧", "1588 1234"),
    "country_without_a_plus": ("연락처 ⟦TEL:8210-1234-5678⟧", "8210-1234-5678"),
    "numbers_grown_together_first": ("⟦TEL:010-1234-5678⟧010-2222-3333", "010-1234-5678"),
    "numbers_grown_together_second": ("010-1234-5678⟦TEL:010-2222-3333⟧", "010-2222-3333"),
    "subscripts": ("전화 ⟦TEL:₀₁₀-₁₂₃₄-₅₆₇₈⟧", "010-1234-5678"),
    "superscripts": ("전화 ⟦TEL:⁰¹⁰-¹²³⁴-⁵⁶⁷⁸⟧", "010-1234-5678"),
    "circles_in_an_ip": ("서버 ⟦IP:①⑨②.⓪.②.①⑤⟧", "192.0.2.15"),
    "percent_signs": ("tel ⟦TEL:010%2D1234%2D5678⟧", "010-1234-5678"),
    "consonants_for_zeros": ("번호 ⟦TEL:ㅇ1ㅇ-1234-5678⟧", "010-1234-5678"),
    "a_vowel_for_one": ("번호 ⟦TEL:0ㅣ0-1234-5678⟧", "010-1234-5678"),
    "a_ring_for_zero": ("번호 ⟦TEL:01○-1234-5678⟧", "010-1234-5678"),
    "bare_registrations_in_a_row_first": ("⟦RRN:9001011234567⟧,9001012234567", "9001011234567"),
    "bare_registrations_in_a_row_second": ("9001011234567,⟦RRN:9001012234567⟧", "9001012234567"),
    "registration_with_a_dotted_date": ("주민 ⟦RRN:90.01.01-1234567⟧", "90.01.01-1234567"),
    "address_of_the_net_apart": ("IP ⟦IP:211 . 234 . 12 . 34⟧ 에서", "211.234.12.34"),
    "passport_apart": ("여권 ⟦PASSPORT:M 123 4567 8⟧", "M12345678"),
    "prose_with_at": ("Please look at ⟦URL:naver.com⟧ first", "naver.com"),
    "entities_of_dashes": ("주민번호 ⟦RRN:900101&ndash;1234567⟧", "900101-1234567"),
    "one_digit_a_dot": ("⟦TEL:0.1.0.1.2.3.4.5.6.7.8⟧ 점 빼고", "01012345678"),
    "one_digit_a_blank": ("띄어씁니다 ⟦TEL:0 1 0 1 2 3 4 5 6 7 8⟧ 선착순", "01012345678"),
    "groups_in_brackets": ("⟦TEL:[010][1234][5678]⟧ 문자요", "010-1234-5678"),
    "country_with_blanks": ("왓츠앱 ⟦TEL:82 10 1234 5678⟧ 로", "82 10 1234 5678"),
    "telephone_in_a_query": ("GET /join?nm=kim&hp=⟦TEL:01012345678⟧&agree=Y", "01012345678"),
    "telephone_without_its_area": ("중국집 전화 ⟦TEL:234-5678⟧ 맛있음", "234-5678"),
    "service_number_with_a_tilde": ("대표번호 ⟦TEL:1588~1234⟧ 전국", "1588~1234"),
    "safe_number": ("안심번호 ⟦TEL:050212345678⟧ 로", "050212345678"),
    "exchange_spoken": ("전화 ⟦TEL:공삼일에 일이삼국에 사오육칠⟧ 번입니다", "031-123-4567"),
    "card_spoken": (
        "카드번호는 ⟦CARD:사일일일-일일일일-일일일일-일일일일⟧ 이다",
        "4111-1111-1111-1111",
    ),
    "business_spoken": ("사업자번호 ⟦BRN:일이삼-사오-육칠팔구일⟧ 입니다", "123-45-67891"),
    "account_spoken": (
        "국민은행 ⟦BANK_ACCOUNT:공구칠일 다시 공일이삼사오육칠 다시 칠팔구공⟧ 입니다",
        "0971-01234567-7890",
    ),
    "account_with_slashes": ("신협 ⟦BANK_ACCOUNT:132/018/273849⟧ 총무 앞", "132/018/273849"),
    "business_with_dots": ("사업자등록번호 ⟦BRN:123.45.67891⟧ (주)가", "123.45.67891"),
    "registration_with_a_dot": ("민증번호 ⟦RRN:900101.1234567⟧ 요", "900101.1234567"),
    "licence_with_dashes_apart": ("면허번호 ⟦DRIVER_LICENSE:21 - 15 - 123456 - 05⟧ 예약", "21-15-123456-05"),
    "health_insurance_in_groups": ("건강보험증 번호 ⟦HEALTH_INSURANCE:5 0123456 789⟧ 지역", "5 0123456 789"),
    "plate_with_dots": ("⟦VEHICLE_PLATE:82.러.1234⟧ 이 차 또 주차했네", "82.러.1234"),
    "plate_in_a_row": ("동,호,차량번호\n101,1203,⟦VEHICLE_PLATE:48조2918⟧\n", "48조2918"),
    "full_width_plate_beside_its_word": ("차번 ⟦VEHICLE_PLATE:６２오４７１８⟧ 그랜저", "62오4718"),
    "ip_in_a_row": ("12:55,LOGIN_FAIL,⟦IP:192.0.2.15⟧,admin", "192.0.2.15"),
    "mail_without_its_end": ("메일 ⟦EMAIL:hong3391@네이버⟧ 로", "hong3391@naver.com"),
    "mail_without_its_end_in_letters": ("⟦EMAIL:hong_kong@naver⟧ 로 메일 주세요", "hong_kong@naver.com"),
    "mail_with_a_hash_at_a_provider": ("⟦EMAIL:bookworm#daum.net⟧ (#을 @로)", "bookworm@daum.net"),
    "mail_with_a_word_before_a_provider": ("⟦EMAIL:hong31 앳 kakao.com⟧ 로", "hong31@kakao.com"),
    "new_ends_of_hosts": ("구글폼 ⟦URL:forms.gle/x7Kp2mQzT9⟧ 작성", "forms.gle/x7Kp2mQzT9"),
    "host_with_spoken_dots": ("주소는 ⟦URL:shop 닷 co 닷 kr⟧ 이에요", "shop.co.kr"),
    "host_with_blanks": ("링크 ⟦URL:hong . tistory . com⟧ 붙여서", "hong.tistory.com"),
    "host_that_is_defanged": ("도메인은 ⟦URL:cdn-hong[.]site⟧로", "cdn-hong.site"),
    "host_in_hangul": ("홈페이지 주소창에 ⟦URL:새봄학원.한국⟧ 치시면", "새봄학원.한국"),
    "flat_with_its_town": ("⟦ADDRESS:목동 푸른솔아파트 712동/903호⟧ 문고리만", "목동 푸른솔아파트 712동/903호"),
    **{
        f"building_{number}": (f"배송지 ⟦ADDRESS:{value}⟧ 앞", value)
        for number, value in enumerate(
            (
                "경기 김포시 물빛로 381 B동 301호",
                "서울 은평구 녹번동 173-284 가온빌라 B01호",
                "경기도 남양주시 화도읍 마루내리 738-4 햇빛연립 제가동 제3층 제302호",
                "대전 서구 갈마로 17번길 82 청솔빌 401호",
                "울산 남구 꽃바위로 63, 늘봄메디컬센터 4층",
                "경기 성남시 분당구 다리목로 12 미래프라자 2층 203-1호",
                "서울특별시 종로구 누리대로 8길 19, 12층(해오름타워)",
                "경남 함안군 칠원읍 가람2길 15 햇살빌라 나동 202호",
                "충남 천안시 동남구 배움로 119 가온대학교 제2생활관 B동 417호",
                "고양시 일산서구 한빛로 30 별가람마을 503-1204",
                "서울시 금천구 디딤로 9길 41, 1203호(가산동, 한울테크노밸리)",
                "강원특별자치도 철원군 갈말읍 호수로 91 사서함 38-7호",
                "대구 달서구 두류동 제 482 번지 19 호",
                "경기도수원시영통구새별로128번길9,405호",
            )
        )
    },
    "health_insurance_after_its_label": ("증번호 ⟦HEALTH_INSURANCE:31234567890⟧", "31234567890"),
    "telephone_with_blanks_in_its_brackets": ("예약 ☏ ⟦TEL:( 031 ) 123-4567⟧ 월요일 휴무", "( 031 ) 123-4567"),
    "area_code_of_the_nineties": ("연락은 ⟦TEL:0431-12-3456⟧ 아니면", "0431-12-3456"),
    "area_code_of_the_nineties_in_brackets": ("방문. ⟦TEL:(0551) 12-3456⟧ 마산", "(0551) 12-3456"),
    "pager": ("호출 ⟦TEL:012-123-4567⟧ 로", "012-123-4567"),
    "free_number_without_dashes": ("(광고) 무료거부 ⟦TEL:0801234567⟧", "0801234567"),
    "second_local_number": ("전화 234-5678, ⟦TEL:345-6789⟧", "345-6789"),
    "telephone_abroad": ("인솔자 ⟦TEL:+63 917 555 0123⟧ 로", "+63 917 555 0123"),
    "telephone_abroad_with_brackets": ("표시 번호(예: ⟦TEL:+1 (425) 555-0165⟧)", "+1 (425) 555-0165"),
    "card_in_a_field": ("DEBUG PaymentReq{cardNo=⟦CARD:4111111111111111⟧, amt=1}", "4111111111111111"),
    "account_at_a_bank_in_short": ("토뱅 ⟦BANK_ACCOUNT:100012345678⟧ 여기로", "100012345678"),
    "business_number_with_blanks": ("거래처 등록: 가나금속 ⟦BRN:123 45 60016⟧ 여신", "123 45 60016"),
    "passport_of_another_country": ("숙박계: 여권 ⟦PASSPORT:TS1234567⟧ 2박", "TS1234567"),
    "passport_of_an_official": ("관용여권(⟦PASSPORT:G12345678⟧) 반납", "G12345678"),
    "plate_behind_a_bracket": ("대기 중이던 제 차(⟦VEHICLE_PLATE:69오1234⟧)를", "69오1234"),
    "plate_before_a_model": ("구간에서 ⟦VEHICLE_PLATE:55주1234⟧ K5 승용차를", "55주1234"),
    "plate_of_a_motorcycle_joined": ("배달오토바이 ⟦VEHICLE_PLATE:경기수원나1234⟧ 신고", "경기수원나1234"),
    "ip_in_a_row_after_a_time": ("시각,아이피\n01:12,⟦IP:198.51.100.47⟧,대입", "198.51.100.47"),
    "complex_right_behind_its_district": (
        "나눔합니다. ⟦ADDRESS:송파구 가나시티 412동 1803호⟧ 문 앞",
        "송파구 가나시티 412동 1803호",
    ),
    "address_with_neighbourhood_unit": (
        "주소 ⟦ADDRESS:부산 동래구 명륜동 517번지 12통 3반⟧ (1991년)",
        "부산 동래구 명륜동 517번지 12통 3반",
    ),
    "address_with_a_block_of_quarters": (
        "‘⟦ADDRESS:정선군 사북읍 사북리 355번지 사택 나동⟧’",
        "정선군 사북읍 사북리 355번지 사택 나동",
    ),
    "address_broken_before_its_town": (
        "연구소\n⟦ADDRESS:강원특별자치도 춘천시\n동내면 세실로 274⟧\n끝",
        "강원특별자치도 춘천시 동내면 세실로 274",
    ),
}

NOT_FOUND = {
    "sentences_without_a_blank": "주소를 옮겼습니다.한국은 처음이다. 사이트를 열었습니다.한국인들은",
    "class_of_com": "구현해야 합니다 INotificationActivationCallback . COM 클래스의 이름",
    "milliseconds": "1710118452381 밀리초면 2024년이다",
    "decimal_like_a_registration": "좌표는 900101.1234567 이다",
    "countries": "일본.한국.중국 순서",
    "year_range_after_a_word": "전화 보급 2010-2020",
    "row_of_zeros_and_ones": "0 1 0 1 1 0 0 1 0 1 1",
    "area": "울산 남구 꽃바위로 7중 추돌, 3층 건물",
    "case_number_of_an_administrative_court": "97누1234 판결은 다르다",
    "case_number_of_the_supreme_court": "99다1234",
    "case_numbers_in_a_row": "대법원 96다1234, 98도2345, 2010누3456 판결",
    "redevelopment_area": "강남구 압구정동 2구역이 지정됐다",
    "pile_up": "경기 안양시 안양로 7중 추돌",
    "part_number": "부품 D12345678",
    "shop_called_like_a_site": "예스24.com에서 샀다",
    "version_by_date": "20.12.25.100",
    "program": "CMD.EXE나 COMMAND.COM을 찾는다",
    "ordinary_words": "이사 오구 이 일이 사실 오일장 구이 이사, 일일이 이 일을 사오 육칠 년 팔구 월",
    "counting": "일 이 삼 사 오 육 칠 팔 구",
    "canned_whelks": "골뱅이 무침 at 네이버 골뱅이 맛집",
    "columns_of_numbers": "2019\n2020\n2021\n010\n20\n1234\n5678",
    "list_of_years": "2018\n- 2019년\n- 2020-\n2021",
    "decorators_and_places": "@홍대 맛집, @강남역 앞, @전체 공지, @하느님, @선생님",
    "parcel": "송장번호 9001011234567, 상품코드: 9001011234567, 9001011234567원",
    "matrix": "0 1 0 2 3 4 1 2 0 3 1 2\n1 0 1 0 0 1 1 1",
    "case_numbers_of_any_year": "75다1234, 48누1234, 52가1234",
    "number_of_a_document": "문서번호 110-123-456789",
    "number_of_a_document_by_year": "2019-123-456789호",
    "groups_of_no_bank": "123-456-789012",
    "model": "모델 S20210001",
    "part": "M12345678 부품",
    "year_and_serial": "S20210001",
    "picture_for_fine_screens": "@2x.png",
    "hash_of_a_commit": "커밋 3e:4f:aa:bb:cc:dd",
    "bar_code_whose_check_digit_fits_both": "상품코드 8801234567890",
    "born_in_the_future": "8801234567890 그리고 9912314000006",
    "order_whose_check_digit_fits": "주문번호 9001011234568",
    "powers": "10²⁰ m²와 2¹⁰, 각주¹²",
    "list_of_circles": "①②③ ④ 보기",
    "dates_apart": "2021 . 3 . 12 . 5",
    "flat_by_itself": "래미안아파트 101동 1203호",
    "span_of_years": "서울 강남구 역삼동 전시 2010-2020",
    "number_of_people": "서울 강남구 역삼동 인구 1000-1200명",
    "name_of_a_column": "look_at_me_dot_product",
    "single_letters": "a b @ c d",
    "end_of_a_sentence": "끝났다.그리고 봤다.com은 아니다",
    "company_in_the_register": "법인등록번호 110111-2123456 주식회사",
    "animal_beside_a_bank_like_name": "축산물이력번호 002012345678, 도축장 농협가나",
    "number_of_an_order_beside_an_account": "주문번호 1234567890 입금 계좌로",
    "annotation_of_a_framework": "@Transactional은 서비스 계층에만 붙이세요",
    "codes_like_passports_abroad": "제품 TS1234567 과 G12345678 재고",
    "row_of_numbers_with_a_check_digit": "77 123 45 60016 88",
    "sign_before_small_numbers": "값은 +1 20 30 400",
    "field_of_sixteen_digits": "id=4111111111111111",
    "region_joined_to_a_word": "번호판 정책: 서울시청나2023",
    "telephone_cut_short": "공일공 일이삼",
}


def parse(marked: str) -> tuple[str, int, int, str]:
    match = re.search(r"⟦(\w+):([^⟧]*)⟧", marked)
    assert match
    text = marked[: match.start()] + match[2] + marked[match.end() :]
    return text, match.start(), match.start() + len(match[2]), match[1]


@pytest.mark.parametrize("form", FOUND)
def test_found_whole(form: str) -> None:
    marked, value = FOUND[form]
    text, start, end, kind = parse(marked)
    assert (start, end, kind, value) in [tuple(found) for found in find_values([text])[0]]


@pytest.mark.parametrize("form", FOUND)
def test_nothing_is_left_beside_the_pseudonym(form: str) -> None:
    text, start, end, _ = parse(FOUND[form][0])
    out, replacements = Pseudonymizer(KEY).apply(text)
    assert text[start:end] not in out
    around = [r for r in replacements if r.start < end and start < r.end]
    assert [(r.start, r.end) for r in around] == [(start, end)]


@pytest.mark.parametrize("form", NOT_FOUND)
def test_left_alone(form: str) -> None:
    text = NOT_FOUND[form]
    assert [(span.type, text[span.start : span.end]) for span in find_spans(text)] == []


def test_one_number_has_one_pseudonym_in_every_form() -> None:
    made = set()
    for marked, value in FOUND.values():
        text, start, _end, kind = parse(marked)
        if kind == "TEL" and value == "010-1234-5678":
            [found] = [r for r in Pseudonymizer(KEY).apply(text)[1] if r.start == start]
            made.add(normalise("TEL", found.surrogate))
    assert len(made) == 1


def test_the_century_is_not_left() -> None:
    for key in range(20):
        out, _ = Pseudonymizer(bytes([key]) * 16).apply("19900101-1234567")
        assert re.fullmatch("(?:19[0-9]{6}-[12]|20[0-9]{6}-[34])[0-9]{6}", out)


@pytest.mark.parametrize("ends", ["", "끝\n"])
def test_offsets_stay_right_after_folding(ends: str) -> None:
    text = f"{ends}\u200b가\u200b나 ０１０－１２３４－５６７８, 010-2345-6789\n０２－１２３－４５６７"
    assert [text[s.start : s.end] for s in find_spans(text)] == [
        "０１０－１２３４－５６７８",
        "010-2345-6789",
        "０２－１２３－４５６７",
    ]


def test_url_with_escaped_slashes_has_the_pseudonym_of_the_plain_one() -> None:
    [plain], [escaped] = (
        Pseudonymizer(KEY).apply(f"주소 {url} 에서")[1]
        for url in ("https://api.example.kr/v2/items", r"https:\/\/api.example.kr\/v2\/items")
    )
    assert escaped.surrogate == plain.surrogate.replace("/", r"\/") and escaped.surrogate.startswith(r"https:\/\/")
